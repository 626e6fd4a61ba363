## unit tests of src/web
