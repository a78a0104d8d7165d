// moves.js - what moves a model's requests between its versions: for each the text of a button, what is said when it
// is done, and the request.
export function movesOf(name) {
  const path = `/v1/models/${encodeURIComponent(name)}`;
  const label = (label, version, more) => [
    `${path}/labels/${label}`,
    { method: 'PUT', body: { version: Number(version), ...more } },
  ];
  return {
    promote: (version) => ['Promote', `Version ${version} serves.`, ...label('stable', version)],
    canary: (version) => [
      'Canary 10 %',
      `Version ${version} gets 10 % of the requests.`,
      ...label('canary', version, { weight: 10 }),
    ],
    endCanary: ['End canary', 'There is no canary now.', `${path}/labels/canary`, { method: 'DELETE' }],
    rollBack: ['Roll back', 'The version before serves again.', `${path}/rollback`, { method: 'POST' }],
  };
}
