#!/usr/bin/python3
"""full.t: a disk that runs full, with groups that can be frozen."""
import disk_checks

disk_checks.main()
