/** All that a check throws that was run without what it needs. */
export const absent = 'the server has nothing for this requirement'
