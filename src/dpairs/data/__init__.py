"""People's data: where a value may lie, how it becomes a cell, and tables as users have them."""
