"""Ways in. They never import each other, and they decide nothing about runs."""
