"""Pages of HTML: their tree, their main part without navigation, their blocks."""
