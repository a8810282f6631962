// The list of runs: the theme, and / to search. All else works without it.
document.getElementById('tools').append(themeButton());
document.addEventListener('keydown', (e) => {
  if (e.key === '/' && !e.ctrlKey && !e.metaKey && !/^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName)) {
    e.preventDefault();
    document.getElementById('search').focus();
  }
});
