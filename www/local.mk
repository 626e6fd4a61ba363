## www
