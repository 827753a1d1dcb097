import dse
v=dse.quantity("v",domain="(-inf, inf)")
s=dse.quantity("s",domain="(-inf, inf)")
@dse.equation(source="s")
def tt(v,s): return v*v+s
