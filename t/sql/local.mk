## t/sql
