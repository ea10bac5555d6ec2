"""Live pages: what changes is pushed to whoever may see it. Frames may be lost; the rows decide."""
