"""The tests. Run them with ``pytest --pyargs jobsplatform_sdk.conformance.pack``."""
