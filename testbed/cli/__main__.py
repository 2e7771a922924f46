"""`python -m testbed.cli`: the same as the command `testbed`."""

import sys

from testbed.cli.main import main

sys.exit(main())
