"""Base classes of passes, and what runs several of them."""
