"""draft"""
from __future__ import annotations
import math
import numpy as np
from mistakebound.bounds import winnow_gain
from mistakebound.duality import Array, Potential, Rows, ascend, pnorm_potential
LOG=False
def agnostic_pnorm(X, y, p, radius, *, weight=1.0):
    rows = Rows.signed(X, y); omega = np.broadcast_to(np.asarray(weight,float),y.shape).copy()
    kappa2=(p-1)*radius**2; total=omega.sum(); phi=pnorm_potential(p)
    a=omega.copy(); value,g=phi(rows.columns@a)
    if 2*value<=kappa2*total: return np.zeros(X.shape[1])
    best,best_u,low=total,np.zeros(len(rows.occurring)),0.
    mu=None
    import time; t0=time.time()
    for it in range(30):
        value,u=phi(rows.columns@a); norm=math.sqrt(2*value)
        s=a.sum(); low=max(low,s*min(1.,kappa2*s/(2*value)))
        root,gamma=scale(rows.rows@u,omega,math.sqrt(kappa2)*norm)
        if root**2<best: best,best_u=root**2,u/gamma
        if LOG: print(f"   {it} mu {mu} F {root**2:.3f} best {best:.3f} low {low:.3f} L1 {np.sum(omega*np.maximum(0,1-rows.rows@(u/gamma))):.1f} t {time.time()-t0:.2f}")
        if best<=1.001*low: break
        mu=root*math.sqrt(kappa2)*gamma/norm
        a=ascend(rows,pnorm_potential(p,mu),a,upper=omega,iterations=40)
    return rows.spread(best_u)
def scale(o,omega,k):
    order=np.argsort(o); o=o[order]; w=omega[order]
    W=np.cumsum(w); WO=np.cumsum(w*o)
    pos=o>0
    if not pos.any(): return math.inf,1.
    g=o[pos]; L1=W[pos]-WO[pos]/g; kk=k/g
    c=(kk+np.sqrt(kk*kk+4*np.maximum(L1,0)))/2
    j=np.argmin(c); return float(c[j]),float(g[j])
