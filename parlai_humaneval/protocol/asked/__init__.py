"""What raters are asked, in exact words."""
