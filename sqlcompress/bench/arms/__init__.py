"""What is compared: plain columns, the engine's own compression, the column type people write, and ours."""
