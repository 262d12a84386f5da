"""Private database servers from the machine's programs, on the loopback interface."""
