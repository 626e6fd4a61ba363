# stmt_gen.awk: named statements in sql/statements become a C table.
function flush_statement() {
	if (name == "")
		return
	names[++count] = name
	sql[name] = text
	params[name] = nparams
	name = ""; text = ""; nparams = 0
}
/^-- name: / { flush_statement(); name = $3; next }
/^-- params: / { nparams = split(substr($0, 12), ignored, ","); next }
/^--/ || name == "" { next }
{
	sub(/[ \t]*--.*$/, "")
	gsub(/\\/, "\\\\"); gsub(/"/, "\\\"")
	if ($0 != "")
		text = text "\t    \"" $0 "\\n\"\n"
}
END {
	flush_statement()
	print "/* Made from sql/statements by stmt_gen.awk. */"
	print "#ifndef STMT_TABLE\nenum stmt {"
	for (i = 1; i <= count; i++)
		print "\tSTMT_" toupper(names[i]) ","
	print "\tSTMT__MAX\n};\n#else"
	print "static const struct stmt_row STMT_TABLE[STMT__MAX] = {"
	for (i = 1; i <= count; i++)
		printf "\t{ \"%s\", %d,\n%s\t},\n", names[i], params[names[i]], sql[names[i]]
	print "};\n#endif"
}
