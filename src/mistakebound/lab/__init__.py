"""Planted streams with a known answer, and adversaries that force mistakes."""
