"""Raters who come by an address: what panels, invitations and crowds of plug-in packages have in common."""
