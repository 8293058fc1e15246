"""What every test of the suite stands on: Ctrl-C is Ctrl-C.

A shell that starts something in the background lets it ignore SIGINT, and every child inherits that. Tests send the signal to
systems and to the command, so it is given back its meaning here, for this process and for what it starts.
"""

import signal

signal.signal(signal.SIGINT, signal.default_int_handler)
