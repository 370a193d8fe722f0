"""What several families of ops share: arguments, geometry, layouts, writes."""
