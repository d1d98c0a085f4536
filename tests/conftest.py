"""What every test process needs."""

import signal

# A job in a shell's background starts with Ctrl-C ignored, and so would all that it starts; some
# tests send it.
signal.signal(signal.SIGINT, signal.default_int_handler)
