"""Long work over whole tables, independent of who starts it."""
