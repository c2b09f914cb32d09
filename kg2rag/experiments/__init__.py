"""Many runs: sweeps over parameters, and reproductions of published numbers."""
