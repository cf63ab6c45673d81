"""Released datasets: schemas, imports, exports, descriptions."""
