"""The door for sidecars: HTTP and JSON, a token of an app, one method a wish (docs/bus.md)."""
