"""The version of the package, in one place.

The build reads it from here, and so does every description that names the version of this implementation.
"""

VERSION = "0.1.0"
