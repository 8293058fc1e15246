"""Systems under test, as the driver sees them: in process, or as a process of their own."""
