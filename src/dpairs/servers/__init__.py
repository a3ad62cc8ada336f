"""What each of two servers does: verify shares, multiply, release; and the files between their steps."""
