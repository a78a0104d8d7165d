// session.js - what whoever is signed in may do.
import { call } from './api.js';

// Each scope of API keys is tried once, by a request that changes nothing.
const PROBES = { infer: '/v1/models', metrics: '/metrics', train: '/v1/files?limit=1', admin: '/v1/audit?limit=1' };

let session = {}; // by scope: null if it is allowed, else the error

export async function openSession() {
  const probe = ([scope, path]) =>
    call(path).then(
      () => [scope, null],
      (error) => [scope, error],
    );
  session = Object.fromEntries(await Promise.all(Object.entries(PROBES).map(probe)));
  // Without a state directory there are no files; that is no question of rights.
  if (session.admin?.status === 501) session.admin = null;
}

export function errorOf(scope) {
  return session[scope];
}

export function errors() {
  return Object.values(session);
}

export function may(scope) {
  return session[scope] === null;
}
