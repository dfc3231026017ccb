/** Bundled packages, needed at every start. Others are loaded on demand. */
export const BUNDLED = ['eventsource-parser', 'fastest-levenshtein', 'tapable', 'yaml']

/** Bundling the CLI framework saves 60 ms per start, and its packages in each installation. */
export const FRAMEWORK = '@oclif/core'
