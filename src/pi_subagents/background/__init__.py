"""Runs that outlive whoever started them: each is held by a keeper, a small process of its own."""
