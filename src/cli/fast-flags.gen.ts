// Generated from the flags of the commands by npm run gen: do not edit.
export const FAST_FLAGS = {
  serve: {
    stdio: { type: 'boolean' },
    'with-listeners': { type: 'boolean' },
    profile: { type: 'string' },
    watch: { type: 'boolean' },
    'as-background': { type: 'boolean' },
    fresh: { type: 'boolean' },
    config: { type: 'string', short: 'c' },
    env: { type: 'string' },
    set: { type: 'string', multiple: true },
    json: { type: 'boolean' },
  },
  validate: {
    config: { type: 'string', short: 'c' },
    env: { type: 'string' },
    set: { type: 'string', multiple: true },
    json: { type: 'boolean' },
    exec: { type: 'boolean' },
    online: { type: 'boolean' },
    within: { type: 'string' },
  },
  wrap: {
    name: { type: 'string' },
    'env-var': { type: 'string', multiple: true },
    http: { type: 'string' },
    json: { type: 'boolean' },
  },
  attach: {
    profile: { type: 'string' },
    label: { type: 'string' },
    'no-start': { type: 'boolean' },
    config: { type: 'string', short: 'c' },
    env: { type: 'string' },
    set: { type: 'string', multiple: true },
    json: { type: 'boolean' },
  },
} as const
