"""The systems that are measured: ours and others, each in a folder of its own behind the same small protocol."""
