## nginx
