"""Tools of models: clients of servers that speak the Model Context Protocol."""
