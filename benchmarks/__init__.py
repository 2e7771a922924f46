"""What the testbed costs, compared with other programs. See README.md beside this file."""
