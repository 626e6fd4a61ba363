## unit tests of src/common
