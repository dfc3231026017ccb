import { RPC } from '../protocol/rpc-error.ts'

/** Rows of the error table that are about plugins and their hooks. */
export const PLUGIN_ERRORS = {
  GW_PLUGIN_LOAD: {
    text: 'plugin "{plugin}" could not be loaded: {why}',
    hint: 'Check plugins.{plugin}.use.',
    exit: 3,
  },
  GW_PLUGIN_OPTIONS: {
    text: 'plugin "{plugin}" refuses its options: {why}',
    hint: 'Correct them where the place says; docs/reference/config.md has the sections, and a plugin of your own its schema.',
    exit: 3,
  },
  GW_PLUGIN_SETUP: {
    text: 'plugin "{plugin}" failed to set up: {why}',
    hint: 'The log has the stack.',
    exit: 4,
  },
  GW_PLUGIN_FAILED: {
    text: 'plugin "{plugin}" failed in hook "{hook}"',
    hint: 'The log has the cause; only this exchange failed.',
    http: 500,
    rpc: RPC.internal,
  },
  GW_PLUGIN_TIMEOUT: {
    text: 'plugin "{plugin}" came to no end in hook "{hook}" within {ms} ms',
    hint: 'A promise of the plugin did not settle, and what it was to decide is refused; "hooks.timeout" says how long it may take.',
    http: 500,
    rpc: RPC.internal,
  },
  GW_HOOK_SEALED: {
    text: 'plugin "{plugin}" taps "{hook}" after setup',
    hint: 'Tap in setup(); hooks are sealed once the graph is built.',
    exit: 4,
  },
  GW_HOOK_UNKNOWN: {
    text: 'plugin "{plugin}" wants to run before or after "{other}", which is not installed',
    hint: 'Name a plugin that is installed, or use a stage.',
    exit: 4,
  },
} as const
