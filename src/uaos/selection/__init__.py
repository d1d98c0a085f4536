"""The framework: components, methods and selectors."""
