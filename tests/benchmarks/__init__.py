"""Measuring scripts; pytest does not collect them."""
