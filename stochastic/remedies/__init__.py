"""What would help, and what a real trace costs."""
