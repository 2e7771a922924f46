"""What people look at in a browser: reports to read, runs to watch. Every page is one file that needs no network."""
