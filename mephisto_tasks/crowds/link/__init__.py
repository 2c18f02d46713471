"""Raters who come by an address: the common part of panels, invitations and crowds of plug-in packages."""
