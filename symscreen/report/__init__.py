"""Reports of results: terminal tables, figures, an HTML page and notebook views."""
