"""What the testbed costs, and against what. See README.md beside this file."""
