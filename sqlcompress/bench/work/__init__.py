"""What is measured: each module does one kind of work with the table of one arm."""
