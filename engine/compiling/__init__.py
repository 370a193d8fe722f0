"""An optional extension module, made of functions of gradtape as they stand."""
