define randvar  name=$size, type=tabular, min=1k, round=512, randtable =
{{ 50, 1k, 4k}, { 18446744073709551615, 4k, 64k}}
define file name=one,path