"""Comparators for streams that nothing separates: those that make an agnostic bound smallest.

Each bound is minimised through its dual (`duality`): one regularisation parameter is moved until the two parts of
the bound balance, and every trial yields both a comparator and a value that no comparator can go below, so the
search knows when it is done. What is returned is within `TOLERANCE` of the best, or the best that was found.

The rows may stand for more rounds than themselves (`weight`). That matters: over the mistaken rounds alone, each
counted once, ``u = 0`` gives the bound ``M <= M``, and no comparator gives less, for that is what the theorem
says. To explain a stream, pass all its rounds, or a sample of them with the weight ``rounds / sampled``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from mistakebound.bounds import winnow_gain
from mistakebound.duality import Array, Potential, Rows, ascend, pnorm_potential

if TYPE_CHECKING:
    from collections.abc import Callable

    from scipy.sparse import csr_matrix

TOLERANCE = 2e-3
TRIALS = 30
LOG=False

def _balance(trial, x, least=-math.inf):
    past = []
    lo,hi=-math.inf,math.inf
    for i in range(TRIALS):
        tilt, high, low = trial(x)
        if LOG: print(f"    {i} x {x:.4f} tilt {tilt:.4g} high {high:.3f} low {low:.3f}")
        if high <= (1 + TOLERANCE) * low or (x == least and tilt >= 0) or i==TRIALS-1: return
        if tilt<0: lo=x
        else: hi=x
        step = -math.copysign(1.,tilt)
        if past:
            x0,t0=past[-1]
            if tilt!=t0 and (x-x0)*(tilt-t0)>0: step=-tilt*(x-x0)/(tilt-t0)
        past.append((x,tilt))
        new = x+min(max(step,-2.),2.)
        if not lo<new<hi: new=(lo+hi)/2
        x=max(new,least)
        if abs(hi-lo)<1e-6: return

def agnostic_pnorm(X, y, p, radius, *, weight=1.0):
    rows = Rows.signed(X, y); omega = np.broadcast_to(np.asarray(weight,float),y.shape).copy()
    kappa=math.sqrt(p-1)*radius; phi=pnorm_potential(p)
    a=omega.copy(); norm=math.sqrt(2*phi(rows.columns@a)[0])
    best,best_u,low=omega.sum(),np.zeros(len(rows.occurring)),kappa**2*omega.sum()**2/norm**2 if norm else math.inf
    def trial(x):
        nonlocal a,best,best_u,low
        a=ascend(rows,pnorm_potential(p,math.exp(-x)),a,upper=omega,iterations=40)
        value,u=phi(rows.columns@a); norm=math.sqrt(2*value); s=a.sum()
        low=max(low,s*min(1.,(kappa/norm)**2*s))
        root,gamma=scale(rows.rows@u,omega,kappa*norm)
        if root**2<best: best,best_u=root**2,u/gamma
        return math.log(kappa**2*s/norm**2), best,low
    if best<=(1+TOLERANCE)*low: return rows.spread(best_u)
    value,u=phi(rows.columns@a)
    root,gamma=scale(rows.rows@u,omega,kappa*norm)
    if root**2<best: best,best_u=root**2,u/gamma
    _balance(trial,-math.log(root*kappa*gamma/norm))
    return rows.spread(best_u)
def scale(o,omega,k):
    order=np.argsort(o); o=o[order]; w=omega[order]
    W=np.cumsum(w); WO=np.cumsum(w*o)
    pos=o>0
    if not pos.any(): return math.inf,1.
    g=o[pos]; L1=W[pos]-WO[pos]/g; kk=k/g
    c=(kk+np.sqrt(kk*kk+4*np.maximum(L1,0)))/2
    j=np.argmin(c); return float(c[j]),float(g[j])

def agnostic_squared(X,y,radius,*,weight=1.):
    rows = Rows.signed(X, y); omega = np.broadcast_to(np.asarray(weight,float),y.shape).copy()
    a=omega.copy(); v=rows.columns@a
    norm=math.sqrt(np.sum(v*v)); best=math.sqrt(omega.sum()); best_u=np.zeros_like(v)
    low=a.sum()*min(radius/norm,1/math.sqrt(omega.sum()))
    if best<=low: return rows.spread(best_u)
    def trial(x):
        nonlocal a,best,best_u,low
        lam=math.exp(-x)
        a=ascend(rows,pnorm_potential(2.,lam),a,ridge=1/omega,iterations=40)
        v=rows.columns@a; norm=math.sqrt(np.sum(v*v)); d=math.sqrt(np.sum(a*a/omega))
        low=max(low,a.sum()*min(radius/norm,1/d))
        u=v/lam
        high=radius*norm/lam+math.sqrt(np.sum(omega*np.maximum(0,1-rows.rows@u)**2))
        if high<best: best,best_u=high,u
        return math.log(radius*d/norm),best**2,low**2
    gamma=np.median(rows.rows@v)
    _balance(trial,-math.log(norm*math.sqrt(omega.sum())/norm*radius/1))
    return rows.spread(best_u)

def agnostic_winnow(X,y,n,eta,radius,*,doubled,update_margin=0.,weight=1.,rest=True):
    rows = Rows.signed(X, y); omega = np.broadcast_to(np.asarray(weight,float),y.shape).copy()
    growth=eta*radius-winnow_gain(radius,eta,radius,update_margin)
    other=((n if doubled else X.shape[1])-len(rows.occurring)) if rest else 0
    def phi(v):
        w=eta*v
        top=max(float(np.abs(w).max()) if doubled else float(w.max()), 0. if other else -math.inf)
        up=np.exp(w-top); 
        if doubled: down=np.exp(-w-top); u=(up-down)/2; mass=float(np.sum(up+down))/2
        else: u=up; mass=float(np.sum(up))
        mass+=other*math.exp(-top)
        return top+math.log(mass/n), u*(eta/mass)
    a=omega.copy(); best,best_u,best_g,low=math.inf,None,None,0.
    t0=1/(eta*radius-growth)
    def consider():
        nonlocal best,best_u,best_g
        v=rows.columns@a; value,u=phi(v); u=u/eta
        re=float(np.sum(u*v))*eta-value
        o=rows.rows@u
        order=np.argsort(o); so=o[order]; w=omega[order]; W=np.cumsum(w); WO=np.cumsum(w*so)
        g=np.append(so,radius); H=np.append(W*so-WO,np.sum(omega*np.maximum(0,radius-o)))
        gain=eta*g-growth; ok=(gain>0)&(g<=radius)
        b=np.where(ok,(re+eta*np.maximum(H,0))/np.where(ok,gain,1),np.inf); j=np.argmin(b)
        if b[j]<best: best,best_u,best_g=float(b[j]),u,float(g[j])
        return value,float(g[j])
    lines=[]
    def trial(x):
        nonlocal a,low
        t=math.exp(x)
        a=ascend(rows,phi,a,gamma=growth+1/t,upper=omega,iterations=40)
        value,_=consider(); s=a.sum(); lines.append((s,s*growth-value))
        low=lower(lines,t0)
        return (s*growth-value)/s, best,low
    _,g=consider()
    _balance(trial,math.log(1/(eta*g-growth)),math.log(t0))
    full=np.full(X.shape[1],np.exp(0)*0.)
    return rows.spread(best_u),best_g,best
def lower(lines,t0):
    L=np.array(lines); 
    cand=[t0]
    for i in range(len(L)):
        for j in range(i):
            if L[i,1]!=L[j,1]:
                t=-(L[i,0]-L[j,0])/(L[i,1]-L[j,1])
                if t>t0: cand.append(t)
    c=np.array(cand); return float((L[:,:1]+L[:,1:]*c[None]).max(0).min()) if (L[:,1]>=0).any() else 0.
