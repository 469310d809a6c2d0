define randvar name=$size, type=tabular, min=1k, round=512, randtable =
{{ 50, 1k, 4k}, { 50, 4k, 64k}}
define file name=one,path=/tmp,size=$size,prealloc,reuse,paralloc
define process name=p,instances=2 { thread name=t,memsize=1m,instances=2 { flowop read name=r,filename=one,iosize=4k,random,directio
flowop bwlimit name=b
flowop semblock name=s,value=2,highwater=10
flowop sempost name=q,value=1,target=s
flowop delay name=d,value=1
flowop testrandvar name=v } }
create files
run
